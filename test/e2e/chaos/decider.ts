/** A person who decides on held messages in the web pages. */
import { browser, unescapeHtml } from '../../support/browse.ts'
import { pause } from '../load.ts'
import type { Cast } from './cast.ts'
import type { Load } from './clients.ts'
import { pauseMs } from './outcome.ts'

/** Whether the person refuses the message with this number. Each sender numbers its own messages. */
export const isRefused = (n: number) => n % 3 === 0

/** A decision is refused if an earlier attempt succeeded but its response was lost. This many in a row are a fault. */
const maxRefusals = 20

/** Decides on all held messages until the run's end. Retries a decision that got no response. */
export async function decide({ base, ledger, ended }: Load, { account, cookie }: Cast): Promise<void> {
  const request = (path: string, init: RequestInit) => fetch(base + path, { ...init, redirect: 'manual' })
  const person = browser({ deps: { config: { appUrl: base } }, request })
  person.cookies.set(...cookie)
  const list = `/accounts/${account}/held`
  let refusals = 0
  while (refusals < maxRefusals) {
    const status = await decideFirst().catch((error) => {
      // The connection was interrupted.
      if (error instanceof TypeError) return 503
      throw error
    })
    if (status === undefined && ended.aborted) return
    if (status === undefined || status >= 500) await pause(pauseMs)
    refusals = status !== undefined && status >= 400 && status < 500 ? refusals + 1 : 0
  }
  ledger.surprises.push(`${maxRefusals} decisions in a row were refused`)

  /** Decides on the first held message. Resolves to the page's status, or undefined if no message is waiting. */
  async function decideFirst(): Promise<number | undefined> {
    const held = await person.open(list)
    if (held.status !== 200) return held.status
    const path = held.html.match(/href="(\/accounts\/[\w-]+\/held\/[\w-]{36})"/)?.[1]
    if (path === undefined) return undefined
    const page = await person.open(path)
    if (page.status !== 200) return page.status
    const text = unescapeHtml(page.html.match(/<pre[^>]*>([^<]*)</)![1])
    const [verb, fields] = isRefused(Number(text.split(' ')[1])) ? ['refuse', { reason: 'No' }] : ['approve', {}]
    return (await person.send(page, fields, `${path}/${verb}`)).status
  }
}
