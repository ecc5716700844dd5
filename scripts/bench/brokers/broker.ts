/** What the brokers have in common. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Server } from '../server.ts'

/** A broker that may be installed on this machine. */
export interface Broker {
  name: string
  /** How a message is sent and taken, in the broker's own words. */
  pair: string
  /** Whether it is asked as the grid is, over HTTP and with a key. */
  speaksHttp?: true
  /** Where its programs are; undefined: not installed. */
  find(): string | undefined
  /** Start it in an empty folder, on a free port. */
  start(folder: string, found: string): Promise<Running>
}

export interface Running {
  server: Server
  /** What an acknowledged message has survived. */
  durability: string
  /** A client with a queue of its own, which nobody else uses. */
  open(queue: string): Promise<Queue>
}

export interface Queue {
  /** Resolves when the broker has acknowledged it. */
  publish(text: string): Promise<unknown>
  /** The oldest message, taken for good; undefined where there is none. */
  take(): Promise<string | undefined>
  close(): Promise<unknown>
}

/** The folder of a program: on PATH, where Debian keeps servers, or in one of `others`. */
export function folderOf(program: string, others: string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/bin', ...others]
  return folders.find((folder) => folder !== '' && existsSync(join(folder, program)))
}
