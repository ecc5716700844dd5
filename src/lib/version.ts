/** The version of the program in all protocols. A test compares it with package.json. */
export const version = '0.1.0'
