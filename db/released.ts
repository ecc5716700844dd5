/**
 * The steps that releases have shipped: the hash of each by its name. `npm run migration` never changes one of these, and makes
 * the next step. A step stands here from its release on: `npm run lab -- released-schema VERSION` adds it.
 */
export const released: Readonly<Record<string, string>> = {}
