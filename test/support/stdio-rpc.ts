/** JSON-RPC with a child process over its standard streams, one object a line. */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Sends a request, and resolves to its result; rejects with its error, or when the program ends first. */
export type Request = (method: string, params: unknown) => Promise<unknown>

/** Requests to a program whose standard input and output are pipes. */
export function rpcOver(child: ChildProcess): Request {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line)
    if (error) waiting.get(id)?.reject(error)
    else waiting.get(id)?.resolve(result)
  })
  child.once('exit', () => waiting.forEach(({ reject }) => reject(new Error('The program ended'))))
  let lastId = 0
  return (method, params) => {
    const id = ++lastId
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject } as PromiseWithResolvers<unknown>)
      child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }
}
