/**
 * This module is loaded into the program that the bootstrap runs. If the bootstrap is killed (kill -9), the pipe between them
 * closes, and this module ends the program. It deletes PLAINPATH_LIFELINE, the number of the pipe, so that processes which the
 * program starts do not inherit it.
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
