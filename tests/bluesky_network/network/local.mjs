// Loaded before everything else: every server listens on this machine alone.
import net from 'node:net'

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...given) {
  const [first] = given
  if (first !== null && typeof first === 'object' && first.port !== undefined) {
    given[0] = { ...first, host: '127.0.0.1' }
  } else if (typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first))) {
    if (typeof given[1] === 'string') given[1] = '127.0.0.1'
    else given.splice(1, 0, '127.0.0.1')
  }
  return listen.apply(this, given)
}
