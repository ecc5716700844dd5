/**
 * The thread jobs of optional features, by name. Not part of `features.ts`, because a thread loads only the code of its
 * job.
 */
type Job = (input: never) => Promise<unknown>

export const featureJobs: Record<string, () => Promise<Job>> = {
  writeArchiveRows: async () => (await import('./features/archives/store/write-rows.ts')).writeArchiveRows,
}
