/** Outgoing requests in tests, and servers that receive them. */
import type { Socket } from 'node:net'
import { afterEach } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { RemoteError } from '../../src/lib/outbound/remote-error.ts'
import { createSafeFetch, type SafeRequest } from '../../src/lib/outbound/safe-fetch.ts'
import type { SafeStreamOptions } from '../../src/lib/outbound/safe-stream.ts'
import { createLog } from '../../src/log.ts'
import { listenWith, type TestServer } from './hostile.ts'

/** A request to a server that answers immediately. */
export const quick: SafeRequest = { timeoutMs: 5_000 }

/** Setup for one test file. `safeFetch` logs to `logs`, and all functions in `closing` are called after each test. */
export function testSafeFetch() {
  const logs: string[] = []
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    logs.length = 0
    await Promise.all(closing.splice(0).map((close) => close()))
  })

  function safeFetch(env: Record<string, string>, options: Partial<SafeStreamOptions> = {}) {
    const log = createLog('debug', (line) => logs.push(line))
    return createSafeFetch({ config: readConfig(env), log, ownPorts: new Set(), ...options })
  }

  /** Starts a server that is closed after the test. */
  async function open(respond: (socket: Socket) => void, onText?: (text: string) => void): Promise<TestServer> {
    const listening = await listenWith(respond, '127.0.0.1', onText)
    closing.push(listening.close)
    return listening
  }

  return { logs, closing, safeFetch, open }
}

/** Returns the reason of a failed request, or `answered`. */
export function reasonOf(response: Promise<unknown>): Promise<string> {
  return response.then(() => 'answered', reasonFrom)
}

/** Returns the reason in a request's error. */
export function reasonFrom(error: unknown): string {
  if (!(error instanceof RemoteError)) throw error
  return error.reason
}

/** Returns a failed request's reason for programs, and its explanation for people. */
export function failureOf(response: Promise<unknown>): Promise<[reason: string, why: string]> {
  return response.then(() => ['answered', ''], (error) => [reasonFrom(error), error.why])
}
