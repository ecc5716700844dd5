/** The queue of a service that is called over HTTP with JSON. */
import { Connection, post } from '../connection.ts'
import type { Queue } from './broker.ts'

/** `body` and `headers` are sent with each call, and say which queue it is. */
export function openHttpQueue(port: number, body: object, headers: Record<string, string> = {}): Queue {
  const connection = new Connection(port)
  const call = (path: string, more: object) => connection.send(post(port, path, { ...body, ...more }, headers))
  const toTake = post(port, '/take', body, headers)
  return {
    async publish(text) {
      const { status } = await call('/publish', { text })
      if (status !== 201) throw new Error(`The service responded ${status}`)
    },
    take: async () => JSON.parse((await connection.send(toTake)).body).text,
    close: () => Promise.resolve(connection.close()),
  }
}
