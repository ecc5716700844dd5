/** Requests to a remote database. `fetch` takes twice the processor time, on Node. */
import * as http from 'node:http'
import * as https from 'node:https'

/** Sends a request. Fails if there is no answer. */
export type Post = (
  url: string,
  headers: Record<string, string>,
  body: string,
) => Promise<{ status: number; text: string }>

/** A silent server would keep callers waiting for minutes, so a request may take as long as `timeout` says. */
export function openPost(timeout: { ms: number }): Post {
  const agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }

  return (url, headers, body) =>
    new Promise((resolve, reject) => {
      const { protocol } = new URL(url)
      const { request } = protocol === 'https:' ? https : http
      const agent = agents[protocol as keyof typeof agents]
      const signal = AbortSignal.timeout(timeout.ms)
      request(url, { method: 'POST', headers, agent, signal }, (response) => {
        let text = ''
        response.setEncoding('utf8')
          .on('data', (part) => text += part)
          .on('end', () => resolve({ status: response.statusCode!, text }))
          .on('error', reject)
          .on('close', () => reject(new Error('The answer of the database was cut off')))
      }).on('error', reject).end(body)
    })
}
