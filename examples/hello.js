// ./caisson run examples/hello.js
const os = require("node:os");

console.log(`Hello from Node ${process.version}, inside a sandbox.`);
console.log(`I am ${os.userInfo().username} on ${os.hostname()}, working in ${process.cwd()}.`);
