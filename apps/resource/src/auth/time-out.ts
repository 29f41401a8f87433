/** A signal that is aborted after `ms`, unless it was disposed of before: then nothing is left of it. */
export interface TimeOut extends Disposable {
  readonly signal: AbortSignal
}

/** What `AbortSignal.timeout` gives, which goes on after the work is done and makes an error that nobody hears of. */
export function timeOut(ms: number): TimeOut {
  const controller = new AbortController()
  const elapse = () => controller.abort(new DOMException(`not done within ${ms} ms`, 'TimeoutError'))
  const timer = setTimeout(elapse, ms)
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}
