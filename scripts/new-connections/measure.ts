/** Measures how long a new connection waits for `/healthz` while other clients keep the server busy. */
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** Slower probes count as this long. */
const maxProbeMs = 15_000
/** The pause between two probes. */
const pauseMs = 20

/**
 * Differs from the clients' address, as a supervisor's address does, because the server serves addresses in turn. Only
 * Linux has this address by default.
 */
const probeAddress = process.platform === 'linux' ? '127.0.0.2' : undefined

export interface Measured {
  probes: number
  /** Response times of all probes, in milliseconds. */
  p50: number
  p99: number
  max: number
  /** The time until each client had two responses. Undefined if that did not happen during the measurement. */
  allServedMs: number | undefined
  /** The number of clients with at most one response at the end. */
  starved: number
  answersPerSecond: number
}

/**
 * Measures the server on `port` of this machine, starting when the clients begin to connect. The clients request
 * `path`.
 */
export async function measureNewConnections(
  port: number,
  clients: number,
  seconds: number,
  path = '/work',
): Promise<Measured> {
  const script = ['--import', 'tsx', 'scripts/new-connections/clients.ts', port, clients, seconds, path].map(String)
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let startedAt = 0
    let onStart: () => void
    const started = new Promise<void>((resolve) => onStart = resolve)
    let allServedMs: number | undefined
    let answers: number[] | undefined
    const ended = new Promise((resolve) => child.once('close', resolve))
    createInterface(child.stdout).on('line', (line) => {
      if (line === 'connecting') {
        startedAt = performance.now()
        onStart()
      } else if (line === 'served') allServedMs = performance.now() - startedAt
      else answers = JSON.parse(line)
    })
    const times: number[] = []
    await Promise.race([started, ended])
    while (answers === undefined && child.exitCode === null) {
      times.push(await probe(port))
      await sleep(pauseMs)
    }
    await ended
    if (!answers) throw new Error('The clients failed')
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.ceil(times.length * share) - 1]
    return {
      probes: times.length,
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
      allServedMs,
      starved: answers.filter((count) => count < 2).length,
      answersPerSecond: answers.reduce((sum, count) => sum + count, 0) / seconds,
    }
  } finally {
    child.kill('SIGKILL')
  }
}

/** The milliseconds from the start of the connection to the response. */
function probe(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const socket = connect({ port, host: '127.0.0.1', localAddress: probeAddress })
    socket.setTimeout(maxProbeMs, () => done())
    const done = () => {
      socket.destroy()
      resolve(performance.now() - startedAt)
    }
    socket.on('error', reject)
    socket.once('data', (bytes) => bytes.toString().startsWith('HTTP/1.1 200') ? done() : reject(new Error(`${bytes}`)))
    socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`)
  })
}
