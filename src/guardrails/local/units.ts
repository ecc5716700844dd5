/** The UTF-16 units of texts, one after the other in one place: reading them there is faster than asking the text. */
import { Buffer } from 'node:buffer'

export class UnitBuffer {
  #bytes = Buffer.from(new ArrayBuffer(2 * 16_384))
  #units = new Uint16Array(this.#bytes.buffer)

  /** At least as many units as the text has, which are its own until another text is read. */
  read(text: string): Uint16Array {
    if (text.length > this.#units.length) {
      this.#bytes = Buffer.from(new ArrayBuffer(2 * text.length))
      this.#units = new Uint16Array(this.#bytes.buffer)
    }
    this.#bytes.write(text, 'utf16le')
    return this.#units
  }
}
