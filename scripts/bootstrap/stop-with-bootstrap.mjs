/**
 * Is loaded into the program that the bootstrap runs, and ends it when the bootstrap was killed (kill -9), which
 * closes the pipe between them. It removes the variable, so that programs started by this one do not use it.
 */
import net from 'node:net'
import process from 'node:process'

const fd = Number(process.env['PLAINPATH_LIFELINE'])
delete process.env['PLAINPATH_LIFELINE']
if (fd > 2) {
  const lifeline = new net.Socket({ fd, readable: true, writable: false })
  const stop = () => process.kill(process.pid, 'SIGTERM')
  lifeline.on('error', stop).on('end', stop).resume().unref()
}
