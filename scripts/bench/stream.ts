/** A client of the wake stream of an agent. */
import { get } from 'node:http'
import type { BenchAgent } from './agents.ts'

export interface WakeStream {
  /** Resolves at the next wake event. Call it again only after it has resolved. */
  next(): Promise<void>
  close(): void
}

/** Open the stream. Resolves when the response has begun. */
export function openWakeStream(port: number, agent: BenchAgent): Promise<WakeStream> {
  return new Promise((resolve, reject) => {
    let waiting: { resolve(): void; reject(error: Error): void } | undefined
    const request = get({
      port,
      host: '127.0.0.1',
      path: '/api/agents/wake-stream',
      headers: { Host: `localhost:${port}`, Authorization: `Bearer ${agent.key}`, Accept: 'text/event-stream' },
    })
    const failed = (error: Error) => {
      reject(error)
      waiting?.reject(error)
    }
    request.on('error', failed)
    request.on('response', (response) => {
      if (response.statusCode !== 200) return failed(new Error(`The wake stream has the status ${response.statusCode}`))
      response.on('error', failed)
      response.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('data: wake')) waiting?.resolve()
      })
      resolve({
        next: () => new Promise<void>((resolve, reject) => waiting = { resolve, reject }),
        close: () => request.destroy(),
      })
    })
  })
}
