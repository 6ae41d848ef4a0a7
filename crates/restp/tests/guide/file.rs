use restp::{Endpoint, Profile};
use tokio::io::AsyncWriteExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Endpoint::bind("127.0.0.1:0").await?;
    let listener = server.listen(7, Profile::file_arq())?;
    let address = server.local_addr();
    let receiver = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().into_stream().unwrap();
        let mut file = tokio::fs::File::create("received.bin").await.unwrap();
        tokio::io::copy(&mut stream, &mut file).await.unwrap();
        stream.connection().finish().await.unwrap();
    });
    let client = Endpoint::bind("127.0.0.1:0").await?;
    let mut stream = client.connect(address, 7, Profile::file_arq()).await?.into_stream()?;
    stream.write_all(&tokio::fs::read("big.bin").await?).await?;
    stream.connection().finish().await?; // everything was delivered
    Ok(receiver.await?)
}
