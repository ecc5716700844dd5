/** What a process of the grid is put together from, and how it ends. */
import process from 'node:process'
import { setTimeout } from 'node:timers'
import { type Config, readConfig } from '../config.ts'
import type { Deps, Log } from '../deps.ts'
import { freePort } from '../lib/free-port.ts'
import { createSafeFetch } from '../lib/safe-fetch.ts'
import { second } from '../lib/time.ts'
import { createLinkLog, createLog } from '../log.ts'
import { createMail } from '../email.ts'

/** A stop that takes longer ends the process; that is as safe as a crash. Reliability 8. */
const stopLimit = 15 * second
/** One Ctrl-C arrives twice when npm passes on what the terminal already sent, in milliseconds. */
const echo = 500
/** Exit code of a fault of ours, EX_SOFTWARE of sysexits.h. */
const internalFault = 70

/** The environment, checked; port 0 has become a free one, since addresses are made of it. Fails with `ConfigError`. */
export async function serverConfig(env: Record<string, string | undefined>): Promise<Config> {
  const config = readConfig(env)
  if (config.port !== 0) return config
  return readConfig({ ...env, PORT: String(await freePort(config.host)) })
}

/** The real clock, the log of this process, and its ways out. Whoever lets it send mail closes `mail` in the end. */
export function processDeps(config: Config, stopping?: AbortSignal): Deps {
  const log = createLog(config.logLevel)
  const ownPorts = new Set([config.port])
  return {
    config,
    now: Date.now,
    log,
    ownPorts,
    safeFetch: createSafeFetch({ config, log, ownPorts }),
    mail: createMail({ config, log, printLink: createLinkLog(config.logLevel) }),
    stopping,
  }
}

/** Aborts on SIGTERM or SIGINT; a second one, or 15 s, ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  let firstAt: number | undefined
  const onSignal = () => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      setTimeout(() => process.exit(1), stopLimit).unref()
      controller.abort()
    } else if (performance.now() - firstAt > echo) {
      process.exit(1)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return controller.signal
}

/** What nobody caught leaves the process in an unknown state: log it and end. The store is safe in a crash. */
export function endOnFault(log: Log): void {
  const end = (message: string) => (error: unknown) => {
    log.error(message, { error })
    process.exit(internalFault)
  }
  process.on('uncaughtException', end('Uncaught exception'))
  process.on('unhandledRejection', end('Unhandled rejection'))
}

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
