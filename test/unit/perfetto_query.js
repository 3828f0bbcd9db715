// Perfetto as its web page ships it: its trace processor on one trace and one query.
//
// node perfetto_query.js FOLDER TRACE SQL prints {"names": […], "rows": [[…], …]}.
// FOLDER has engine_bundle.js, the worker of the page, and its WebAssembly; here the
// process stands in for the browser. The worker speaks the protocol buffers of
// protos/perfetto/trace_processor/trace_processor.proto.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, traceFile, sql] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorMethod
const SEQ = 1, REQUEST = 2, RESPONSE = 3; // fields of TraceProcessorRpc
const APPEND_DATA = 101, QUERY_ARGS = 103, QUERY_RESULT = 203;

// --- protobuf ---
function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, data) =>
  Buffer.concat([varint(field * 8 + 2), varint(data.length), Buffer.from(data)]);

function readVarint(data, at) {
  let value = 0n, shift = 0n, byte;
  do {
    byte = data[at++];
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
  } while (byte & 128);
  return [Number(BigInt.asIntN(64, value)), at];
}

function* fields(data) {
  let at = 0, key, value;
  while (at < data.length) {
    [key, at] = readVarint(data, at);
    const kind = key & 7;
    if (kind === 0) [value, at] = readVarint(data, at);
    else {
      let length = 8;
      if (kind === 2) [length, at] = readVarint(data, at);
      value = data.subarray(at, (at += length));
    }
    yield [key >> 3, value];
  }
}

function packedVarints(data) {
  const values = [];
  for (let at = 0, value; at < data.length; ) {
    [value, at] = readVarint(data, at);
    values.push(value);
  }
  return values;
}

// --- rows of a query ---
const result = { names: [], rows: [] };
function takeBatch(batch) {
  let cells = [], varints = [], floats = [], strings = [];
  for (const [field, value] of fields(batch)) {
    if (field === 1) cells = [...value];
    if (field === 2) varints = packedVarints(value);
    if (field === 3) {
      for (let at = 0; at < value.length; at += 8) floats.push(value.readDoubleLE(at));
    }
    if (field === 5) strings = value.toString("utf8").split("\0");
  }
  const take = {
    1: () => null,
    2: () => varints.shift(),
    3: () => floats.shift(),
    4: () => strings.shift(),
  };
  const values = cells.map((kind) => take[kind]());
  const width = result.names.length;
  for (let at = 0; at < values.length; at += width) {
    result.rows.push(values.slice(at, at + width));
  }
}

function takeReply(reply) {
  for (const [, rpc] of fields(Buffer.from(reply))) {
    for (const [field, value] of fields(rpc)) {
      if (field !== QUERY_RESULT) continue;
      for (const [inner, data] of fields(value)) {
        if (inner === 1) result.names.push(data.toString("utf8"));
        if (inner === 2) throw new Error(data.toString("utf8"));
        if (inner === 3) takeBatch(data);
      }
    }
  }
}

// --- the worker that the page would start ---
const file = (name) => fs.readFileSync(path.join(folder, path.basename(name)));
const self = { location: { href: `file://${folder}/engine_bundle.js` } };
class XMLHttpRequest {
  open(method, url) { this.url = url; }
  send() { this.response = file(this.url); }
}
const page = {
  self, XMLHttpRequest, WorkerGlobalScope() {}, importScripts() {},
  fetch: async (url) => new Response(file(String(url)), {
    headers: { "content-type": "application/wasm" },
  }),
};
const { log } = console;
Object.assign(globalThis, page);
Object.assign(console, { log() {}, warn() {} });
delete globalThis.process; // or the worker sees that this is no browser
vm.runInThisContext(file("engine_bundle.js").toString("utf8"));
const port = { postMessage: takeReply };
self.onmessage({ data: port });

let sequence = 0;
function request(method, args) {
  const rpc = Buffer.concat([number(SEQ, ++sequence), number(REQUEST, method), args]);
  port.onmessage({ data: new Uint8Array(bytes(1, rpc)) });
}
function whenReady(tries) {
  try {
    request(APPEND, bytes(APPEND_DATA, fs.readFileSync(traceFile)));
  } catch (error) {
    if (tries === 0) throw error;
    setTimeout(() => whenReady(tries - 1), 50);
    sequence = 0;
    return;
  }
  request(FINALIZE, Buffer.alloc(0));
  request(QUERY, bytes(QUERY_ARGS, bytes(1, Buffer.from(sql))));
  log(JSON.stringify(result));
}
setTimeout(() => whenReady(200), 200);
