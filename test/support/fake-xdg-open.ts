/** A replacement for `xdg-open`, which programs run to open a URL in the browser. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'

/** The fake `xdg-open` is in `folder`. Add the folder to `PATH`. */
export interface FakeXdgOpen {
  folder: string
  close(): Promise<void>
}

/** Calls `visit` with every URL that a program opens. */
export async function fakeXdgOpen(folder: string, visit: (url: string) => void): Promise<FakeXdgOpen> {
  const server = createServer(async (request, response) => {
    let url = ''
    for await (const chunk of request.setEncoding('utf8')) url += chunk
    visit(url)
    response.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo

  mkdirSync(folder, { recursive: true })
  const program = `#!${process.execPath}\nfetch('http://127.0.0.1:${port}', {method: 'POST', body: process.argv[2]})\n`
  writeFileSync(join(folder, 'xdg-open'), program)
  chmodSync(join(folder, 'xdg-open'), 0o755)
  return {
    folder,
    close() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}
