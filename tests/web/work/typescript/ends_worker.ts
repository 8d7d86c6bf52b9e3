// A worker of the tests whose handlers end in every way that there is.
import {
  Client, Permanent, Transient, Worker, continueLater, filter, join, retryAfter, skip, snooze,
} from "../../../../clients/typescript/src/index.ts";
import type { Handler } from "../../../../clients/typescript/src/index.ts";

const handlers: { [kind: string]: Handler } = {
  async page(task) {
    if (task.claim.joined) {
      const kinds: string[] = [];
      for await (const one of task.joined()) kinds.push(`${one.kind}:${one.state ?? one.refused_code}`);
      return { state: task.state, kinds };
    }
    const [first] = await task.spawnNow({ kind: "filtered", key: "now" });
    await task.checkpoint({ stage: "begun", state: { first: first?.reason ?? "granted" } });
    await task.progress(1, 2, "half");
    for (const kind of ["skipped", "later", "busy", "broken", "crash", "limited", "goes_on"]) task.spawn({ kind });
    return join();
  },
  filtered: () => filter("thin"),
  skipped: () => skip("known"),
  later: (task) => (task.claim.snoozes ? "came back" : snooze(1, { reason: "later", uses_time: false })),
  busy(task) {
    if (task.claim.attempt === 1) throw new Transient("503");
    return task.claim.attempt;
  },
  broken() {
    throw new Permanent("gone");
  },
  unfit: () => "x".repeat(300_000),
  odd() {
    throw new Permanent("a \0 and half a character: \ud83d");
  },
  crash() {
    throw new TypeError("cannot read properties of undefined");
  },
  limited: (task) => (task.claim.snoozes ? "let in" : retryAfter(1)),
  async goes_on(task) {
    if (task.claim.chain_depth) return "went on";
    await task.checkpoint({ state: { page: 1 } });
    return continueLater();
  },
  async waits(task) {
    console.log("waiting");
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
    console.log(`aborted: ${task.signal.reason.message}`);
  },
};

const [url = "", token = "", name = "", lease = "2"] = process.argv.slice(2);
const client = new Client({ url, token });
const onError = (error: unknown) => console.error(error);
const worker = new Worker(client, { name, handlers, leaseSeconds: Number(lease), graceSeconds: 0.1, onError });
process.on("SIGTERM", () => worker.stop());
console.log("ready");
await worker.run();
console.log("stopped");
