/** Creates the dependencies of a process, and handles its signals and uncaught errors. */
import { resolveTxt } from 'node:dns/promises'
import process from 'node:process'
import { setTimeout } from 'node:timers'
import { type Config, limits } from '../config.ts'
import type { Deps } from '../deps.ts'
import { createEmailSender } from '../email.ts'
import { GuardrailChecks } from '../guardrails/providers.ts'
import { Bodies } from '../lib/http/body.ts'
import { CallerHints } from '../lib/http/client-address.ts'
import { Overload } from '../lib/limits/overload.ts'
import type { Log } from '../lib/log.ts'
import { createSafeFetch } from '../lib/outbound/safe-fetch.ts'
import { createSafeStream } from '../lib/outbound/safe-stream.ts'
import { second } from '../lib/time.ts'
import { createLinkLog, createLog } from '../log.ts'
import { readClientPackage } from './client-package.ts'

/** A stopping process exits after at most this time, which is as safe as a crash. See docs/delivery.md, "Stopping". */
const shutdownTimeoutMs = 15 * second
/**
 * npm repeats a signal that a terminal or systemd has sent to the complete process group. Under npm, a second signal
 * within this time is ignored.
 */
const duplicateSignalMs = process.env.npm_lifecycle_event === undefined ? 0 : 500
/** EX_SOFTWARE of sysexits.h. */
const internalErrorExitCode = 70

/**
 * This process's dependencies. `ports`: listening ports in addition to `config.port`. If the process sends emails, call
 * `email.close()` before it ends.
 */
export function processDeps(
  config: Config,
  { stopping, ports = [] }: { stopping?: AbortSignal; ports?: readonly number[] } = {},
): Deps {
  const log = createLog(config.logLevel)
  const ownPorts = new Set([config.port, ...ports])
  const outbound = { config, log, ownPorts }
  const safeStream = createSafeStream(outbound)
  return {
    config,
    limits,
    now: Date.now,
    log,
    ownPorts,
    safeFetch: createSafeFetch(outbound, safeStream),
    safeStream,
    operatorStream: createSafeStream({ ...outbound, config: { ...config, allowPrivateTargets: true } }),
    resolveTxt: async (name) => (await resolveTxt(name)).map((parts) => parts.join('')),
    email: createEmailSender({ config, log, printLink: createLinkLog(config.logLevel) }),
    bodies: new Bodies(),
    callerHints: new CallerHints(config),
    guardrailChecks: new GuardrailChecks(),
    readClientPackage,
    overload: new Overload(log),
    stopping,
  }
}

/** Aborts on SIGTERM or SIGINT. The process exits at a second signal, or after 15 s. */
export function shutdownSignal(): AbortSignal {
  const controller = new AbortController()
  let firstAt: number | undefined
  const onSignal = () => {
    if (firstAt === undefined) {
      firstAt = performance.now()
      setTimeout(() => process.exit(1), shutdownTimeoutMs).unref()
      controller.abort()
    } else if (performance.now() - firstAt > duplicateSignalMs) {
      process.exit(1)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return controller.signal
}

/** Logs an uncaught error and exits, because the state of the process is unknown. The store survives a crash. */
export function exitOnUncaughtError(log: Log): void {
  const exitWith = (message: string) => (error: unknown) => {
    log.error(message, { error })
    process.exit(internalErrorExitCode)
  }
  process.on('uncaughtException', exitWith('Uncaught exception'))
  process.on('unhandledRejection', exitWith('Unhandled rejection'))
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
