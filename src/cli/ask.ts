import { request } from 'node:http'

export interface Question {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  timeoutMs?: number
}

/**
 * Ask a server on this machine over HTTP. `fetch` would not do: it cannot set
 * `Host`, and on some runtimes it obeys the proxy variables of the environment.
 */
export function ask(url: string, question: Question = {}): Promise<{ status: number; text: string }> {
  const { method = 'GET', headers = {}, body, timeoutMs = 30_000 } = question
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      headers: text === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      timeout: timeoutMs,
    }, (incoming) => {
      const chunks: Uint8Array[] = []
      incoming.on('data', (chunk) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => resolve({ status: incoming.statusCode!, text: Buffer.concat(chunks).toString('utf8') }))
    })
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer from ${url} within ${timeoutMs} ms`)))
    outgoing.end(text)
  })
}
