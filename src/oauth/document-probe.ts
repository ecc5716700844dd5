/**
 * Whether this grid can fetch client metadata documents. It is advertised only then, because clients that see it
 * advertised do not fall back to registration. See docs/protocol.md, "Client id metadata documents".
 */
import { clearTimeout, setInterval, setTimeout } from 'node:timers'
import type { Deps } from '../deps.ts'
import { hour, second } from '../lib/time.ts'
import { documentLimits, parseClientDocument } from './client-document.ts'

/** The document of a widely used client. */
const probedDocument = 'https://claude.ai/oauth/claude-code-client-metadata'

export interface DocumentProbe {
  /** Whether to advertise client metadata documents. */
  canFetch(): boolean
  /** Fetch the probed document and remember whether that worked. Never fails. */
  check(): Promise<void>
}

/** Long enough that a process whose start fails sends no request. */
const firstCheckMs = second

/**
 * With `OAUTH_CIMD=auto` it checks soon after the start and then every hour, in the background. Documents are
 * advertised while the last check has succeeded.
 */
export function documentProbe({ config: { oauthCimd }, log, safeFetch, stopping }: Deps): DocumentProbe {
  let isFetchable: boolean | undefined

  async function check(): Promise<void> {
    const before = isFetchable
    try {
      parseClientDocument(probedDocument, await safeFetch(probedDocument, { ...documentLimits, isProbe: true }))
      isFetchable = true
    } catch {
      isFetchable = false
    }
    // Logged on a change only: a grid without internet access would log it every hour.
    if (isFetchable !== before) {
      log.info('Checked whether OAuth client documents can be fetched', { areRead: isFetchable })
    }
  }

  if (oauthCimd === 'auto') {
    const timers = [setTimeout(() => void check(), firstCheckMs), setInterval(() => void check(), hour)]
    for (const timer of timers) timer.unref()
    stopping?.addEventListener('abort', () => timers.forEach((timer) => clearTimeout(timer)), { once: true })
  }
  return {
    canFetch: () => oauthCimd === 'on' || (oauthCimd === 'auto' && isFetchable === true),
    check,
  }
}
