/** Facts about the machine that determine the figures. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { spread } from './numbers.ts'

/** The cores, the memory and the current load. */
export function machine(): string {
  const cores = cpus()
  return `${cores.length} cores (${cores[0].model.trim()}), ${
    Math.round(totalmem() / 2 ** 30)
  } GiB, ${process.platform} ${process.arch}, load ${loadavg()[0].toFixed(1)} before the start`
}

/** Milliseconds to append a page to a file in `folder` and fsync it, as a commit does. */
export function fsyncMs(folder: string): ReturnType<typeof spread> {
  const file = openSync(join(folder, 'fsync'), 'w')
  const page = Buffer.alloc(4_096)
  const times: number[] = []
  for (let i = 0; i < 300; i++) {
    const at = performance.now()
    writeSync(file, page)
    fsyncSync(file)
    times.push(performance.now() - at)
  }
  closeSync(file)
  return spread(times)
}
