/** Whether documents of clients can be read from here: clients that see it advertised never fall back. mcp.md, section 8.3. */
import { clearTimeout, setInterval, setTimeout } from 'node:timers'
import type { Deps } from '../deps.ts'
import { hour, second } from '../lib/time.ts'
import { documentLimits, readDocument } from './client-document.ts'

/** The document of a widespread client. */
const probedDocument = 'https://claude.ai/oauth/claude-code-client-metadata'

export interface DocumentProbe {
  /** Whether to advertise. */
  areRead(): boolean
  /** Look whether the internet can be reached. Never fails. */
  look(): Promise<void>
}

/** A process that cannot start has called nobody. */
const startMs = second

/** `auto`: looks soon after the start and every hour, delaying nobody; until it succeeds, and after it failed, not advertised. */
export function documentProbe({ config: { oauthCimd }, log, safeFetch, stopping }: Deps): DocumentProbe {
  let isReached: boolean | undefined

  async function look(): Promise<void> {
    const before = isReached
    try {
      readDocument(probedDocument, await safeFetch(probedDocument, { ...documentLimits, isProbe: true }))
      isReached = true
    } catch {
      isReached = false
    }
    // A grid without internet stays one for long: it is said once, not with every look.
    if (isReached !== before) log.info('Documents of OAuth clients', { areRead: isReached })
  }

  if (oauthCimd === 'auto') {
    const timers = [setTimeout(() => void look(), startMs), setInterval(() => void look(), hour)]
    for (const timer of timers) timer.unref()
    stopping?.addEventListener('abort', () => timers.forEach((timer) => clearTimeout(timer)), { once: true })
  }
  return {
    areRead: () => oauthCimd === 'on' || (oauthCimd === 'auto' && isReached === true),
    look,
  }
}
