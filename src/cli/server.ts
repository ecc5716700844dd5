import { createApp } from '../app.ts'
import type { Deps } from '../deps.ts'
import { second } from '../lib/time.ts'
import { listen, type Listener } from '../listen.ts'
import { openStore, type Store, type StoreOptions } from '../store/store.ts'
import { startWorker, type Worker } from '../worker/worker.ts'
import { CommandError } from './command.ts'

/** How long running requests may take to finish when the process stops. Reliability 8. */
const grace = 10 * second
/** How long mails may take that wait then. */
const mailGrace = 3 * second

export interface Server {
  readonly store: Store
  readonly worker: Worker
  /** All that brings work to the store; one may be added. */
  readonly listeners: Listener[]
}

/** Open the database and serve the grid. Fails with `database_in_use` or `cannot_listen`. */
export async function startServer(deps: Deps, options?: StoreOptions): Promise<Server> {
  const store = await openStore(deps, options)
  let worker: Worker | undefined
  try {
    // Before anybody is answered: what a dead process handed out comes first.
    worker = await startWorker(store)
    const app = createApp(store)
    const listener = await listenOrExplain((request, connection) => app.fetch(request, connection), deps)
    return { store, worker, listeners: [listener] }
  } catch (error) {
    await worker?.stop()
    await store.close()
    throw error
  }
}

/** Take nothing new, answer what runs, send mails that wait, commit what waits, release the database. */
export async function stopServer({ store, worker, listeners }: Server): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.stop(grace)))
  await worker.stop()
  await store.deps.mail.close(mailGrace)
  await store.close()
}

async function listenOrExplain(fetch: Parameters<typeof listen>[0], { config }: Deps): Promise<Listener> {
  const { port, host } = config
  try {
    return await listen(fetch, { port, host })
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string }
    // Deno says the reason in the name of the error, the others in its code.
    const reason = reasons[code ?? ''] ?? reasons[name ?? ''] ?? 'The system refuses it. Set HOST and PORT.'
    throw new CommandError('cannot_listen', `Cannot listen on ${host}:${port}. ${reason}`)
  }
}

const taken = 'Another program listens there. Stop it, or set PORT to another port.'
const forbidden = 'This user may not; ports below 1024 need more rights. Set PORT to a higher one.'
const foreign = 'This machine does not have that address. Set HOST to one it has, or to 0.0.0.0.'

const reasons: Record<string, string> = {
  EADDRINUSE: taken,
  AddrInUse: taken,
  EACCES: forbidden,
  PermissionDenied: forbidden,
  EADDRNOTAVAIL: foreign,
  AddrNotAvailable: foreign,
}
