/**
 * Calls `onTimeout` after `ms` milliseconds, unless it is disposed of first. When the time is up, input that has already arrived
 * is read first. Otherwise a process that stood still, for example because its machine was busy, would reject the responses that
 * arrived meanwhile.
 */
export function startTimeout(ms: number, onTimeout: () => void): Disposable {
  let immediate: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    immediate = setImmediate(onTimeout)
  }, ms)
  return {
    [Symbol.dispose]() {
      clearTimeout(timer)
      clearImmediate(immediate)
    },
  }
}
