// A member that receives with the client `ws`: prints what it is pushed, one line each, acknowledges
// it, and ends after COUNT messages. It also sends fragments, a ping, and a long message.
// usage: node receive.mjs URL TOKEN COUNT
import WebSocket from 'ws';

const [url, token, count] = process.argv.slice(2);
const socket = new WebSocket(url, { perMessageDeflate: true });
let received = 0;

const send = (frame) => socket.send(JSON.stringify(frame));

socket.on('error', (error) => {
  console.error(String(error));
  process.exit(1);
});
socket.on('close', (code, reason) => {
  console.log(`closed ${code} ${reason}`);
});
socket.on('pong', (data) => console.log(`pong ${data}`));
socket.on('message', (data) => {
  const frame = JSON.parse(data);
  if (frame.type === 'challenge') {
    socket.ping('are you there');
    // In three fragments.
    const hello = JSON.stringify({ type: 'hello', mesh: 'team', token });
    socket.send(hello.slice(0, 5), { fin: false });
    socket.send(hello.slice(5, 9), { fin: false });
    socket.send(hello.slice(9), { fin: true });
  } else if (frame.type === 'hello_ack') {
    console.log(`hello ${frame.name}`);
    send({ type: 'feature_negotiation_request', require: ['client_message_id_dedupe'] });
  } else if (frame.type === 'push') {
    for (const one of frame.deliveries) {
      console.log(`message ${one.client_message_id} ${one.body.length}`);
      received += 1;
    }
    send({ type: 'client_ack', delivery_ids: frame.deliveries.map((one) => one.delivery_id) });
  } else if (frame.type === 'ack' && received >= Number(count)) {
    socket.close(1000, 'done');
  } else if (frame.type === 'error') {
    console.log(`error ${frame.error}`);
  }
});
