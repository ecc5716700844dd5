/** Version of the program, as every protocol tells it. A test compares it with package.json. */
export const version = '0.1.0'
