/**
 * The counters of a process, for Prometheus. No label contains an account or an agent. See
 * docs/operating/monitoring.md, "Metrics".
 */
import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client'
import process from 'node:process'
import { second } from '../../lib/time.ts'
import type { ProcessLoad } from '../../store/store.ts'
import type * as core from '../../telemetry.ts'
import type { WaitingFigures } from './store.ts'

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Values that are read when the metrics are requested. Times are in milliseconds. */
export interface CurrentFigures extends WaitingFigures, ProcessLoad {
  now: number
  /** The longest event loop delay since the last read. */
  longestDelayMs: number
  /** Time of the newest backup known to this process. */
  backupAt?: number
}

function inOpenMetrics(): Registry<OpenMetricsContentType> {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

export class Metrics implements core.Metrics {
  readonly #registry = inOpenMetrics()
  readonly #calls = this.#histogram('grid_call_seconds', 'Calls, excluding their waits for messages.', ['door', 'verb'])
  readonly #refusals = this.#counter('grid_refusals', 'Calls that were refused.', ['door', 'code'])
  readonly #commits = this.#histogram('grid_commit_seconds', 'Commits, including failed ones.', [])
  readonly #statements = this.#counter('grid_statements', 'Statements in commits.', [])
  readonly #failedCommits = this.#counter('grid_failed_commits', 'Commits that failed.', [])
  readonly #checks = this.#histogram('grid_guardrail_seconds', 'Checks by guardrails.', ['provider', 'outcome'])
  readonly #attempts = this.#counter('grid_outbound_attempts', 'Requests to external servers.', ['kind', 'outcome'])
  readonly #unread = this.#gauge('grid_unread_messages', 'Unread messages of all inboxes.')
  readonly #oldest = this.#gauge('grid_oldest_unread_seconds', 'Age of the oldest unread message; 0 without one.')
  readonly #leases = this.#gauge('grid_leases', 'Leases that are neither acknowledged nor released.')
  readonly #lines = this.#gauge('grid_outbound_due', 'Requests to external servers that are due.')
  readonly #paused = this.#gauge('grid_outbound_paused_servers', 'Servers that are paused after failures.')
  readonly #queue = this.#gauge('grid_commit_queue_units', 'Units that wait for a commit.')
  readonly #delay = this.#gauge(
    'grid_event_loop_delay_seconds',
    'Longest delay of the event loop since the last scrape.',
  )
  readonly #memory = this.#gauge('grid_memory_bytes', 'Memory of the process.', ['kind'])
  readonly #cpu = this.#counter('grid_cpu_seconds', 'Processor time of the process.', [])
  readonly #database = this.#gauge('grid_database_bytes', 'Size of the local file with its log.')
  readonly #backup = this.#gauge('grid_backup_age_seconds', 'Age of the newest backup.')
  #cpuSeconds = 0

  call({ door, verb, code, ms }: core.FinishedCall): void {
    this.#calls.observe({ door, verb }, ms / second)
    if (code !== undefined) this.#refusals.inc({ door, code })
  }

  commit(statements: number, ms: number, isFailed: boolean): void {
    this.#commits.observe(ms / second)
    this.#statements.inc(statements)
    if (isFailed) this.#failedCommits.inc()
  }

  check(provider: string, outcome: 'passed' | 'objected' | 'failed', ms: number): void {
    this.#checks.observe({ provider, outcome }, ms / second)
  }

  attempt(kind: string, isReached: boolean): void {
    this.#attempts.inc({ kind, outcome: isReached ? 'reached' : 'failed' })
  }

  /** Returns the text of all metrics with their current values. */
  async text(current: CurrentFigures): Promise<string> {
    const { now, waitingSince, databaseBytes, backupAt } = current
    this.#unread.set(current.unread)
    this.#oldest.set(waitingSince === null ? 0 : Math.max(0, now - waitingSince) / second)
    this.#leases.set(current.leases)
    this.#lines.set(current.dueOutboxes)
    this.#paused.set(current.pausedServers)
    this.#queue.set(current.waitingUnits)
    this.#delay.set(current.longestDelayMs / second)
    const { rss, heapUsed } = process.memoryUsage()
    this.#memory.set({ kind: 'resident' }, rss)
    this.#memory.set({ kind: 'heap' }, heapUsed)
    const { user, system } = process.cpuUsage()
    const cpuSeconds = (user + system) / 1e6
    this.#cpu.inc(Math.max(0, cpuSeconds - this.#cpuSeconds))
    this.#cpuSeconds = cpuSeconds
    if (databaseBytes !== undefined) this.#database.set(databaseBytes)
    if (backupAt !== undefined) this.#backup.set((now - backupAt) / second)
    return await this.#registry.metrics()
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] })
  }

  #histogram<Label extends string>(name: string, help: string, labelNames: Label[]): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: seconds, registers: [this.#registry] })
  }
}
