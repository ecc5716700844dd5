import { Connection } from './connection.ts'
import { load, type Measured, type Work } from './load.ts'
import type { Connect } from './scenario.ts'
import type { Server } from './server.ts'

/** Do what needs connections to `port`, and close them. */
export async function withConnections<Result>(
  port: number,
  run: (connect: Connect, opened: Connection[]) => Promise<Result>,
): Promise<Result> {
  const opened: Connection[] = []
  const connect = () => {
    const connection = new Connection(port)
    opened.push(connection)
    return connection
  }
  try {
    return await run(connect, opened)
  } finally {
    for (const connection of opened) connection.close()
  }
}

/** `load` with connections to the server, or to `port` instead. A failure says what was under way. */
export async function loadServer(
  name: string,
  server: Server,
  seconds: number,
  work: (connect: Connect) => Work,
  port = server.port,
): Promise<Measured & { reopens: boolean }> {
  try {
    return await withConnections(port, async (connect, opened) => {
      const measured = await load(work(connect), server, seconds)
      return { ...measured, reopens: opened.some((connection) => connection.opened > 10) }
    })
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}\n${server.lastWords()}`, { cause: error })
  }
}
