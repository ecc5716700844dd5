/** Task streams across kills, and across processes. `npm run lab -- task-streams` tests more tasks. */
import process from 'node:process'
import { expect, test } from 'vitest'
import { runtimes, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { startSqld } from '../support/sqld.ts'
import { callTool } from './client.ts'
import { artifactsOf, follow, startTask, subscribe, workOn } from './task-streams/load.ts'

const tasks = Number(process.env.STREAM_TASKS ?? 20)
const kills = Number(process.env.STREAM_KILLS ?? 3)
/** Number of events passed from one process to another. */
const passed = Number(process.env.STREAM_EVENTS ?? 5)
/** The number of a task's events: submitted, read, and one for each step of the agent. */
const events = 20
const steps = events - 2
/** Number of tasks that an agent works on at a time. */
const workers = 10

test(
  `${kills} times kill -9: each subscriber sees every event of its task once, and the task is what they say`,
  async () => {
    const database = temporaryDatabase()
    const env = { DATABASE_URL: database.url, CALLS_PER_SECOND: '0' }
    // A key can follow at most 100 tasks.
    const names = Array.from({ length: Math.ceil(tasks / 100) }, (_, n) => `alice-${n}`)
    const { agents: [bob, ...askers] } = await seedAgents(database.url, ['bob', ...names])
    const askerOf = (n: number) => askers[n % askers.length]
    let server = startServe('node', env)
    const current = { url: async () => (await server).url }
    const ids: string[] = []
    for (let n = 0; n < tasks; n++) ids.push(await startTask(current, askerOf(n), bob))
    let read = 0
    while (read < tasks) read += (await callTool(await current.url(), bob.key, 'read_messages')).messages.length

    let done = 0
    let killed = 0
    const onStep = () => {
      done++
      if (killed === kills || done < (killed + 1) * tasks * steps / (kills + 1)) return
      killed++
      server = server.then(async (running) => {
        running.signal('SIGKILL')
        await running.ended
        return await startServe('node', env)
      })
    }
    const waiting = [...ids]
    const work = async () => {
      for (let id = waiting.shift(); id; id = waiting.shift()) await workOn(current, bob, id, steps, onStep)
    }
    const [seen] = await Promise.all([
      Promise.all(ids.map((id, n) => follow(current, askerOf(n), id))),
      ...Array.from({ length: workers }, work),
    ])

    const url = await current.url()
    for (const [n, { taskId, ids: numbers, artifacts }] of seen.entries()) {
      expect(numbers).toEqual(numbers.map((_, n) => n + 1))
      expect(numbers.length).toBeGreaterThanOrEqual(events)
      expect(await artifactsOf(url, askerOf(n), taskId)).toEqual(artifacts)
    }
    const streams = seen.reduce((sum, one) => sum + one.streams, 0)
    console.log(
      `${tasks} tasks, ${killed} kills, ${seen.flatMap(({ ids }) => ids).length} events over ${streams} streams`,
    )
    expect(killed).toBe(kills)
    expect((await (await server).stop()).code).toBe(0)
    database.remove()
  },
  1_200_000,
)

test(`${passed} events of one process reach a stream of another, on Node, Deno and Bun`, async () => {
  const sqld = await startSqld()
  const { agents: [alice, bob] } = await seedAgents(sqld.url, ['alice', 'bob'])
  const env = { DATABASE_URL: sqld.url, OAUTH_CIMD: 'off' }
  const [here, ...others] = await Promise.all([...runtimes].map((runtime) => startServe(runtime, env)))
  const ms: number[] = []
  for (const other of others) {
    const taskId = await startTask({ url: () => Promise.resolve(here.url) }, alice, bob)
    await callTool(here.url, bob.key, 'read_messages')
    const stream = await subscribe(other.url, alice.key, taskId, 0)
    for (let n = 1; n <= 2; n++) expect((await stream.next())?.id).toBe(n)
    for (let n = 3; n < passed + 3; n++) {
      const artifact = { id: `artifact-${n}`, last_chunk: true }
      await callTool(here.url, bob.key, 'update_task', { task_id: taskId, text: `Part ${n}.`, artifact })
      const storedAt = performance.now()
      expect((await stream.next())?.id).toBe(n)
      ms.push(performance.now() - storedAt)
    }
    await callTool(here.url, bob.key, 'update_task', { task_id: taskId, state: 'completed' })
    expect((await stream.rest()).map(({ result }) => result.statusUpdate.status.state)).toEqual([
      'TASK_STATE_COMPLETED',
    ])
  }

  ms.sort((a, b) => a - b)
  const at = (share: number) => Math.round(ms[Math.min(ms.length - 1, Math.floor(ms.length * share))])
  console.log(
    `${ms.length} events: behind the answer of their update p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`,
  )
  await Promise.all([here, ...others].map((server) => server.stop()))
  await sqld.stop()
}, 1_200_000)
