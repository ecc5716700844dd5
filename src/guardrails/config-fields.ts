/** Fields that the configurations of several providers have. */
import * as z from 'zod'
import { atMost } from '../lib/input.ts'

/** A URL is shown to every admin, so it may contain no credentials. Those belong into the token. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_000)
  .refine((text) => !/^[a-z]+:\/\/[^/]*@/i.test(text), 'must have no user or password; use the token')

/** Text of 1 to `max` characters. */
export const text = (max: number) => atMost(z.string().min(1), max)

/** A score. */
export const threshold = z.number().min(0).max(1)
