"""How lit runs the files of this folder: each `// RUN:` line in lit's own shell."""

import os
import sys

import lit.formats

config.name = "tiledialect"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "Output")

# The commands of the environment that lit itself runs in.
scripts = os.path.dirname(sys.executable)
config.environment["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])

# `%{machines}` is the folder of machine files, `%{examples}` that of the workloads.
root = os.path.dirname(os.path.dirname(config.test_source_root))
config.substitutions.append(("%{examples}", os.path.join(root, "examples")))
config.substitutions.append(
    ("%{machines}", os.path.join(root, "tiledialect", "machines"))
)
