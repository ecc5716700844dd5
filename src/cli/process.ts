/** Creates the dependencies of a process, and handles its signals and uncaught errors. */
import { resolveTxt } from 'node:dns/promises'
import process from 'node:process'
import { setTimeout } from 'node:timers'
import { type Config, ConfigError, limits } from '../config.ts'
import type { Deps } from '../deps.ts'
import { createEmailSender } from '../email.ts'
import { GuardrailChecks } from '../guardrails/providers.ts'
import { freePort } from '../lib/free-port.ts'
import { Bodies } from '../lib/http/body.ts'
import { CallerHints } from '../lib/http/client-address.ts'
import { Overload } from '../lib/limits/overload.ts'
import type { Log } from '../lib/log.ts'
import { createSafeFetch } from '../lib/outbound/safe-fetch.ts'
import { createSafeStream } from '../lib/outbound/safe-stream.ts'
import { second } from '../lib/time.ts'
import { createLinkLog, createLog } from '../log.ts'
import { mayBeFolder } from '../store/backup/files.ts'
import { readClientPackage } from './client-package.ts'
import { readConfig } from './settings.ts'

/** After this time the process exits anyway, which is as safe as a crash. See docs/delivery.md, "Stopping". */
const shutdownTimeoutMs = 15 * second
/** npm repeats a signal that a terminal or systemd has sent to the whole group. Under npm a second one this soon is ignored. */
const duplicateSignalMs = process.env.npm_lifecycle_event === undefined ? 0 : 500
/** EX_SOFTWARE of sysexits.h. */
const internalErrorExitCode = 70

/** Read the settings of a server. Port 0 becomes a free port, because URLs contain it. Fails with `ConfigError`. */
export async function readServerConfig(env: Record<string, string | undefined>): Promise<Config> {
  const config = readConfig(env)
  const { backupDir } = config
  if (backupDir !== undefined && !mayBeFolder(backupDir)) {
    throw new ConfigError(`BACKUP_DIR must be the path of a folder, and ${backupDir} is a file.`)
  }
  if (config.port !== 0) return config
  return readConfig({ ...env, PORT: String(await freePort(config.host)) })
}

/** The dependencies of this process. If it sends emails, call `email.close()` before it ends. */
export function processDeps(config: Config, stopping?: AbortSignal): Deps {
  const log = createLog(config.logLevel)
  const { metricsPort } = config
  const ownPorts = new Set([config.port, ...(metricsPort === undefined ? [] : [metricsPort])])
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

/** Aborts on SIGTERM or SIGINT. A second signal ends the process at once, and so do 15 s. */
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

/** Log an uncaught error and exit: the state of the process is unknown. The store is safe in a crash. */
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
