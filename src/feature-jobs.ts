/**
 * What optional features do on threads, by name. Apart from `features.ts`, because a thread loads only what its job needs.
 */
type Job = (input: never) => Promise<unknown>

export const featureJobs: Record<string, () => Promise<Job>> = {
  writeArchiveRows: async () => (await import('./features/archives/store/write-rows.ts')).writeArchiveRows,
}
