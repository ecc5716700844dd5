import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Connection, post } from '../connection.ts'
import type { ServerProcess } from '../server.ts'

/** A broker that may be installed on this machine. */
export interface Broker {
  name: string
  /** How a message is published and consumed, in the terms that the broker uses. */
  pairDescription: string
  /** Set if clients call the broker like the grid, over HTTP with a key. */
  speaksHttp?: true
  /** Returns the folder with the broker's programs, or undefined if it is not installed. */
  find(): string | undefined
  /** Starts the broker in an empty folder, on a free port. `programs` is the result of `find`. */
  start(folder: string, programs: string): Promise<RunningBroker>
}

export interface RunningBroker {
  server: ServerProcess
  /** How durable an acknowledged message is. */
  durability: string
  /** Whether a message is on disk before it is acknowledged. */
  isFsynced: boolean
  /** Connects a client with its own queue. */
  open(queue: string): Promise<Queue>
}

export interface Queue {
  /** Resolves when the broker has acknowledged the message. */
  publish(text: string): Promise<unknown>
  /** Takes and acknowledges the oldest message. Undefined if the queue is empty. */
  take(): Promise<string | undefined>
  close(): Promise<unknown>
}

/** Finds a program's folder: on PATH, in Debian's usual folders for servers, or one of `others`. */
export function folderOf(program: string, others: string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/bin', ...others]
  return folders.find((folder) => folder !== '' && existsSync(join(folder, program)))
}

/** Opens a queue over HTTP. `body` and `headers` are sent with each call, and identify the queue. */
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
