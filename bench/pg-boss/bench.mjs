// pg-boss under the same load: one measurement per process, on an empty database, the same printed lines.
//
//   node bench.mjs --what drain|pickup|enqueue|bulk --place URL [--jobs N] [--samples N]
//
// Its documentation names for speed: `batchSize` (many jobs per fetch and per handler call), `burstWhenBatchFull` (no wait
// between full fetches), `localConcurrency` (workers in this process), `insert` for many jobs, and LISTEN/NOTIFY for
// latency. NOTIFY costs the callers that enqueue, so it is on where latency is measured and off, as by default, elsewhere.
// Finished jobs are kept.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { PgBoss } from 'pg-boss'

const CALLERS = 8
// Of 100, 500 and 1,000 with 1, 4 and 20 workers, these were the fastest here.
const BATCH = 500
const WORKERS = 4
const QUEUE = 'nothing'
const text = 'x'.repeat(100)

const { values: args } = parseArgs({
  options: {
    what: { type: 'string' },
    place: { type: 'string' },
    jobs: { type: 'string', default: '20000' },
    samples: { type: 'string', default: '300' }
  }
})
const jobs = Number(args.jobs)
const samples = Number(args.samples)
const notify = args.what === 'pickup'
const { version } = JSON.parse(readFileSync(new URL('./node_modules/pg-boss/package.json', import.meta.url)))

const boss = new PgBoss({ connectionString: args.place, max: 30, useListenNotify: notify, supervise: false, schedule: false })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue(QUEUE, { notify })
const database = new pg.Client({ connectionString: args.place })
await database.connect()

function print (what, value, unit) {
  console.log(JSON.stringify({ who: 'pg-boss', version, on: 'postgres', what, value, unit }))
}

const perSecond = (count, began) => count / ((performance.now() - began) / 1000)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function settle () {
  await database.query('VACUUM (ANALYZE)')
  await database.query('CHECKPOINT')
}

async function unfinished () {
  const sql = "SELECT count(*)::int AS n FROM pgboss.job WHERE name = $1 AND state <> 'completed'"
  return (await database.query(sql, [QUEUE])).rows[0].n
}

const all = () => boss.insert(QUEUE, Array.from({ length: jobs }, () => ({ data: { text } })))

async function drain () {
  await all()
  if (await unfinished() !== jobs) throw new Error('not every job waits')
  await settle()
  let seen = 0
  const began = performance.now()
  const last = new Promise((resolve) => {
    const options = {
      batchSize: BATCH,
      localConcurrency: WORKERS,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5
    }
    boss.work(QUEUE, options, async (batch) => {
      seen += batch.length
      if (seen >= jobs) resolve()
    })
  })
  await last
  while (await unfinished() > 0) await sleep(2)
  print('drain', perSecond(jobs, began), 'jobs/s')
}

async function pickup () {
  let started
  await boss.work(QUEUE, { pollingIntervalSeconds: 0.5, localConcurrency: 1 }, async () => started(performance.now()))
  await sleep(1000)
  const took = []
  for (let sample = 0; sample < samples; sample++) {
    await sleep(20 + (sample * 7) % 13)
    const start = new Promise((resolve) => { started = resolve })
    const began = performance.now()
    await boss.send(QUEUE, { text })
    took.push(await start - began)
  }
  took.sort((a, b) => a - b)
  const percentile = (percent) => took[Math.min(Math.floor(took.length * percent / 100), took.length - 1)]
  print('pickup_p50', percentile(50), 'ms')
  print('pickup_p99', percentile(99), 'ms')
}

async function enqueue () {
  await settle()
  const share = Math.floor(jobs / 2 / CALLERS)
  const began = performance.now()
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    for (let n = 0; n < share; n++) await boss.send(QUEUE, { text })
  }))
  print('enqueue', perSecond(share * CALLERS, began), 'jobs/s')
}

async function bulk () {
  await settle()
  const began = performance.now()
  await all()
  print('bulk', perSecond(jobs, began), 'jobs/s')
}

await { drain, pickup, enqueue, bulk }[args.what]()
process.exit(0)
