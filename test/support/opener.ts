/** Stands for `xdg-open`: programs without a screen hand the address for their person to it. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'

/** A folder for `PATH`, in which `xdg-open` is ours. */
export interface Opener {
  folder: string
  close(): Promise<void>
}

/** `visit` gets every address that a program opens. */
export async function opener(folder: string, visit: (url: string) => void): Promise<Opener> {
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
