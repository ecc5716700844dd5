/**
 * The steps that releases have shipped: the hash of each by its name. `npm run migration` never changes one of these, and makes
 * the next step. A step stands here from its release on: `npm run lab -- released-schema VERSION` adds it.
 */
export const released: Readonly<Record<string, string>> = {
  '0000_grid': '6f2b0ca8fc52f09e848415cd09ca4522773de9146cbbd62047c56d6d770e2168',
}
