/**
 * The migration steps that releases have shipped: each step's hash by its name. `npm run migration` never changes one
 * of these and creates the next step instead. A step is listed here from its release on: `npm run lab --
 * released-schema VERSION` adds it.
 */
export const released: Readonly<Record<string, string>> = {
  '0000_grid': 'ad8976374f7db689758f86798207ac6bd639cd150e01ce76b4a6de9f52ad141d',
}
