/**
 * Internal commands that other commands send to a running server. `copy-database` copies the database, which takes
 * longer than one request may.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { newId } from '../lib/id.ts'
import { minute, second } from '../lib/time.ts'
import { localPath, workFolderOf } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'
import { CommandError, storeCommand } from './command.ts'

/** How long one request waits for a copy. */
const waitMs = 10 * second
/** A copy is removed if it is not requested for this long, because the command that needed it was probably killed. */
const keptMs = 5 * minute

interface Job {
  copied: Promise<string>
  isFinished: boolean
  /** The timer that removes the copy after a period without requests. */
  removal?: NodeJS.Timeout
}

const jobsOf = new WeakMap<Store, Map<string, Job>>()

/**
 * Without `job`, starts a copy. The result is the copy's path, or null while the copy is in progress; the caller then
 * calls again with `job`.
 */
export const copyDatabaseCommand = storeCommand({
  name: 'copy-database',
  summary: 'Copy the database, for a backup.',
  options: { job: { placeholder: 'ID', description: 'ID of a copy in progress' } },
  async run(store, args) {
    let jobs = jobsOf.get(store)
    if (!jobs) jobsOf.set(store, jobs = new Map())
    const id = args.job ?? newId()
    if (args.job === undefined) jobs.set(id, begin(store, () => jobs.delete(id)))
    const job = jobs.get(id)
    if (!job) {
      throw new CommandError('no_copy', 'The server has restarted and lost the copy. Run the command again.')
    }
    await Promise.race([job.copied, sleep(waitMs, undefined, { ref: false })])
    if (!job.isFinished) return { job: id, path: null }
    const path = await job.copied
    job.removal?.refresh()
    return { job: id, path }
  },
  print: ({ path }) => path ?? '',
})

/** Records on the server that a backup was made from its copy. */
export const noteBackupCommand = storeCommand({
  name: 'note-backup',
  summary: 'Note a backup.',
  options: {
    at: { placeholder: 'MS', description: 'when it was begun', required: true },
    file: { placeholder: 'PATH', description: 'where it is', required: true },
    bytes: { placeholder: 'N', description: 'how long it is', required: true },
  },
  async run(store, { at, file, bytes }) {
    const { schemaVersion: schema } = store
    await store.write(store.global.backups.noteMade({ at: Number(at), file, bytes: Number(bytes), schema }))
    return { noted: true }
  },
  print: () => '',
})

function begin(store: Store, forget: () => void): Job {
  const job: Job = { copied: copy(store), isFinished: false }
  job.copied.catch(() => {}).finally(() => {
    job.isFinished = true
    job.removal = setTimeout(() => {
      forget()
      job.copied.then((path) => rm(folderOf(path), { recursive: true, force: true })).catch(() => {})
    }, keptMs)
    job.removal.unref()
  })
  return job
}

async function copy(store: Store): Promise<string> {
  const folder = await mkdtemp(workFolderOf(localPath(store.deps.config.databaseUrl)!))
  try {
    const path = join(folder, 'grid.db')
    await store.copyTo(path)
    return path
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

export function folderOf(copy: string): string {
  return join(copy, '..')
}
