/** The values of counters and gauges. Metric names contain the units. See docs/operating/monitoring.md, "Metrics". */
import process from 'node:process'
import { expect, test } from 'vitest'
import { type CurrentFigures, Metrics } from '../../../src/features/telemetry/metrics.ts'

const figures: CurrentFigures = {
  ...{ now: 100_000, unread: 7, waitingSince: 98_000, leases: 3, dueOutboxes: 4 },
  ...{ waitingUnits: 5, pausedServers: 2, longestDelayMs: 1_500, databaseBytes: 8_192, backupAt: 40_000 },
}

async function valuesOf(metrics: Metrics, more: Partial<CurrentFigures> = {}): Promise<Record<string, number>> {
  const lines = (await metrics.text({ ...figures, ...more })).split('\n').filter((line) => /^\w.* \S+$/.test(line))
  return Object.fromEntries(lines.map((line) => {
    const at = line.lastIndexOf(' ')
    return [line.slice(0, at), Number(line.slice(at + 1))]
  }))
}

test('each figure is exported as a gauge, with times in seconds', async () => {
  expect(await valuesOf(new Metrics())).toMatchObject({
    grid_unread_messages: 7,
    grid_oldest_unread_seconds: 2,
    grid_leases: 3,
    grid_outbound_due: 4,
    grid_commit_queue_units: 5,
    grid_outbound_paused_servers: 2,
    grid_event_loop_delay_seconds: 1.5,
    grid_database_bytes: 8_192,
    grid_backup_age_seconds: 60,
  })
  const empty = { waitingSince: null, databaseBytes: undefined, backupAt: undefined }
  expect(await valuesOf(new Metrics(), empty)).toMatchObject({ grid_oldest_unread_seconds: 0 })
})

test('calls, commits, checks and attempts are counted by outcome, and their durations are measured', async () => {
  const metrics = new Metrics()
  metrics.call({ door: 'rest', verb: '/x', code: undefined, ms: 1_500 })
  metrics.call({ door: 'rest', verb: '/x', code: 'invalid_input', ms: 500 })
  metrics.commit(3, 2_000, false)
  metrics.commit(4, 1_000, true)
  metrics.check('phrases', 'objected', 250)
  for (const isReached of [true, true, false]) metrics.attempt('push', isReached)

  const values = await valuesOf(metrics)
  expect(values).toMatchObject({
    'grid_call_seconds_sum{door="rest",verb="/x"}': 2,
    'grid_call_seconds_count{door="rest",verb="/x"}': 2,
    'grid_refusals_total{door="rest",code="invalid_input"}': 1,
    grid_commit_seconds_sum: 3,
    grid_commit_seconds_count: 2,
    grid_statements_total: 7,
    grid_failed_commits_total: 1,
    'grid_guardrail_seconds_sum{provider="phrases",outcome="objected"}': 0.25,
    'grid_outbound_attempts_total{kind="push",outcome="reached"}': 2,
    'grid_outbound_attempts_total{kind="push",outcome="failed"}': 1,
  })
  const refusals = Object.keys(values).filter((name) => name.startsWith('grid_refusals_total'))
  expect(refusals).toHaveLength(1)
})

test('metrics count processor time once, even when read often', async () => {
  const metrics = new Metrics()
  const before = process.cpuUsage()
  for (let n = 0; n < 3; n++) await valuesOf(metrics)
  const told = (await valuesOf(metrics)).grid_cpu_seconds_total
  const after = process.cpuUsage()

  expect(told).toBeGreaterThanOrEqual((before.user + before.system) / 1e6)
  expect(told).toBeLessThanOrEqual((after.user + after.system) / 1e6)
})
