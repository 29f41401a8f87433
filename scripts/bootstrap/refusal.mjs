/** A reason to stop that is said in one line, without a stack. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
