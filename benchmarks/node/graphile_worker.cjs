"use strict";
// graphile-worker: the roles of benchmarks/peers/role.py, for the queue that has its workers in Node.js.

const fs = require("node:fs");
const path = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { Logger, makeWorkerUtils, run } = require("graphile-worker");

const BULK = 1000;
const EFFECT_SECONDS = 0.002;
const TEXT = "x".repeat(150);
const FAN_OUT = 10;
const PAUSE_MS_MAX = 50;
const PICK_UP_MS_MAX = 60000;
const WORKER = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 1000 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
const folder = process.env.BENCH_FOLDER;
const silent = new Logger(() => () => {});

const roles = {
  async about() {
    return {
      versions: { "graphile-worker": require("graphile-worker/package.json").version, node: process.versions.node },
      settings: "concurrentJobs 24, localQueue.size 1000, completeJobBatchDelay 0, failJobBatchDelay 0, pool 25; addJobs",
      unfinished: "SELECT EXISTS (SELECT 1 FROM graphile_worker._private_jobs)",
      after_kill: "stays locked for four hours, unless somebody calls forceUnlockWorkers",
      durability: "",
    };
  },

  async prepare(address) {
    const utils = await makeWorkerUtils({ connectionString: address, logger: silent });
    await utils.migrate();
    await utils.release();
    return {};
  },

  async submit(address, tasks, task) {
    const utils = await makeWorkerUtils({ connectionString: address, logger: silent });
    const seconds = task === "effect" ? EFFECT_SECONDS : 0;
    const began = performance.now();
    for (let first = 0; first < Number(tasks); first += BULK) {
      const jobs = [];
      for (let number = first; number < Math.min(first + BULK, Number(tasks)); number++) {
        jobs.push({ identifier: task, payload: { number, seconds, text: TEXT } });
      }
      await utils.addJobs(jobs);
    }
    const took = (performance.now() - began) / 1000;
    await utils.release();
    return { seconds: took };
  },

  async tree(address, levels) {
    const utils = await makeWorkerUtils({ connectionString: address, logger: silent });
    const began = performance.now();
    await utils.addJob("tree", { number: 0, levels: Number(levels), text: TEXT });
    const took = (performance.now() - began) / 1000;
    await utils.release();
    return { seconds: took };
  },

  async "pick-up"(address, samples) {
    const utils = await makeWorkerUtils({ connectionString: address, logger: silent });
    const latencies = [];
    const submits = [];
    for (let number = 0; number <= Number(samples); number++) {
      await pause(Math.random() * PAUSE_MS_MAX);
      const asked = now();
      await utils.addJob("effect", { number, seconds: 0, text: TEXT });
      submits.push((now() - asked) * 1000);
      latencies.push(((await beganAt(number)) - asked) * 1000);
    }
    await utils.release();
    return { latencies_ms: latencies.slice(1), submits_ms: submits.slice(1) };
  },

  async work(address) {
    const effects = fs.openSync(path.join(folder, "effects"), "a");
    const numbers = [];
    const times = [];
    const ran = (number) => {
      if (numbers.length === 0) fs.writeFileSync(path.join(folder, `began-${process.pid}`), "");
      numbers.push(BigInt(number));
      times.push(now());
    };
    const taskList = {
      noop: async ({ number }) => ran(number),
      tree: async ({ number, levels }, { addJobs }) => {
        ran(number);
        if (levels) await addJobs(children(number, levels));
      },
      effect: async ({ number, seconds }) => {
        ran(number);
        if (seconds) await pause(seconds * 1000);
        fs.writeSync(effects, `${number} ${now().toFixed(6)}\n`);
      },
    };
    process.on("SIGTERM", () => {
      const written = [new BigInt64Array(numbers), new Float64Array(times)].map((made) => Buffer.from(made.buffer));
      const making = path.join(folder, `writing-${process.pid}`);
      fs.writeFileSync(making, Buffer.concat(written));
      fs.renameSync(making, path.join(folder, `ran-${process.pid}`));
      process.exit(0);
    });
    const preset = { worker: { connectionString: address, ...WORKER } };
    const runner = await run({ preset, logger: silent, noHandleSignals: true, taskList });
    await runner.promise;
  },
};

function children(number, levels) {
  return Array.from({ length: FAN_OUT }, (_, at) => ({
    identifier: "tree",
    payload: { number: number * FAN_OUT + at + 1, levels: levels - 1, text: TEXT },
  }));
}

function now() {
  return (performance.timeOrigin + performance.now()) / 1000;
}

async function beganAt(number) {
  const log = path.join(folder, "effects");
  const giveUpAt = performance.now() + PICK_UP_MS_MAX;
  while (performance.now() < giveUpAt) {
    const written = fs.existsSync(log) ? fs.readFileSync(log, "latin1") : "";
    const last = written.endsWith("\n") ? written.trimEnd().split("\n").at(-1).split(" ") : [];
    if (last.length && Number(last[0]) === number) return Number(last[1]);
    await pause(1);
  }
  throw new Error(`task ${number} was not picked up within ${PICK_UP_MS_MAX / 1000} s`);
}

const [role, ...words] = process.argv.slice(2);
roles[role](...words).then(
  (answer) => {
    console.log(JSON.stringify(answer));
    process.exit(0);
  },
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
