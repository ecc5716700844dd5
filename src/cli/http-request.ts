import * as http from 'node:http'

export interface HttpRequestOptions {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: unknown
  /** Maximum time without received data. */
  timeoutMs?: number
  /** Aborts the request. */
  signal?: AbortSignal
  /** Called with each piece of a response with status 200. */
  onData?(): void
}

/** No data arrived within the time limit. */
export class SilenceError extends Error {}

/**
 * Sends an HTTP request. Fails with a `SilenceError`, or with a connection error. It does not use `fetch`, which cannot
 * set `Host` and on some runtimes obeys proxy variables.
 */
export async function httpRequest(
  url: string,
  options: HttpRequestOptions = {},
): Promise<{ status: number; text: string }> {
  // HTTPS is loaded on demand, because most requests stay on this machine.
  const { request } = url.startsWith('https:') ? await import('node:https') : http
  const { method = 'GET', headers = {}, body, timeoutMs = 30_000, signal, onData } = options
  const text = body === undefined ? undefined : JSON.stringify(body)
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      headers: text === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      timeout: timeoutMs,
      signal,
    }, (incoming) => {
      const chunks: Uint8Array[] = []
      incoming.on('data', (chunk) => {
        chunks.push(chunk)
        if (incoming.statusCode === 200) onData?.()
      })
      incoming.on('error', reject)
      incoming.on('end', () => resolve({ status: incoming.statusCode!, text: Buffer.concat(chunks).toString('utf8') }))
    })
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new SilenceError(`No response from ${url} within ${timeoutMs} ms`)))
    outgoing.end(text)
  })
}
