/** JSON-RPC with a child process over standard input and output, one object per line. */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Sends a request. Resolves to the result. Rejects with the response's error, or if the process ends first. */
export type RpcRequest = (method: string, params: unknown) => Promise<unknown>

/** Sends requests to a process over pipes. */
export function rpcOver(child: ChildProcess): RpcRequest {
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line)
    if (error) pending.get(id)?.reject(error)
    else pending.get(id)?.resolve(result)
  })
  child.once('exit', () => pending.forEach(({ reject }) => reject(new Error('The process ended'))))
  let lastId = 0
  return (method, params) => {
    const id = ++lastId
    return new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject } as PromiseWithResolvers<unknown>)
      child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }
}
