// A worker of the tests, beside Python's `tests.web.work.tree_app`: the same tree of questions that join their answers.
import { Client, Worker, join } from "../../../../clients/typescript/src/index.ts";
import type { Handler, Json } from "../../../../clients/typescript/src/index.ts";

const LEVELS = 5;
const FAN_OUT = 4;

const ask: Handler = async (task) => {
  const place = task.claim.payload as string;
  if (place.length <= LEVELS && !task.claim.joined) {
    for (let number = 0; number < FAN_OUT; number++) {
      const below = `${place}${number}`;
      task.spawn({ kind: "ask", key: below, payload: below });
    }
    return join();
  }
  const parts: Json[] = [];
  for await (const part of task.joined()) parts.push(part.result);
  return `${place}(${parts.join(" ")})`;
};

const [url = "", token = "", name = ""] = process.argv.slice(2);
const client = new Client({ url, token });
const worker = new Worker(client, { name, handlers: { ask }, concurrency: 8, leaseSeconds: 6 });
process.on("SIGTERM", () => worker.stop());
console.log("ready");
await worker.run();
console.log("stopped");
