/**
 * The migration steps that releases contain, with each step's hash by its name. `npm run migration` never changes these
 * steps; it creates the next step instead. A release adds its steps with `npm run lab -- released-schema VERSION`.
 */
export const released: Readonly<Record<string, string>> = {
  '0000_grid': 'ad8976374f7db689758f86798207ac6bd639cd150e01ce76b4a6de9f52ad141d',
}
