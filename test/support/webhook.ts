/** A webhook outside the grid. Each test chooses its responses. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TakenNotice {
  path: string
  headers: IncomingHttpHeaders
  text: string
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/** An HTTP status, a status with headers and a text, or no response. */
export type WebhookAnswer = number | { status: number; headers: Record<string, string>; text?: string } | 'hang'

export type Webhook = Awaited<ReturnType<typeof startWebhook>>

/** Starts a webhook on a free port. It responds with 204 unless `answer` specifies another response. */
export async function startWebhook(
  answer: (notice: TakenNotice) => WebhookAnswer | Promise<WebhookAnswer> = () => 204,
) {
  const taken: TakenNotice[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => text += chunk).on('end', async () => {
      const notice = { path: request.url!, headers: request.headers, text, body: JSON.parse(text) }
      taken.push(notice)
      const said = await answer(notice)
      if (said === 'hang') return
      const { status, headers, text: body = '' } = typeof said === 'number' ? { status: said, headers: {} } : said
      response.writeHead(status, headers).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    taken,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Summarizes an event: its state, or its artifact's text; for a complete task, also the task's artifacts. */
export function noticeInShort({ body: { statusUpdate, artifactUpdate, status, artifacts } }: TakenNotice): string {
  if (artifactUpdate) return artifactUpdate.artifact.parts[0].text
  if (statusUpdate) return statusUpdate.status.state.replace('TASK_STATE_', '').toLowerCase()
  const made = (artifacts ?? []).flatMap(({ parts }: { parts: { text: string }[] }) => parts.map(({ text }) => text))
  return [status.state, ...made].join(' ')
}
